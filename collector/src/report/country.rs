//! A country by its ISO 3166-1 code.

/// A country by its code in ISO 3166-1, in capitals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Country([u8; 2]);

impl Country {
    /// The country with this code. `None` if no country has it, as with `XX`, `T1` and `EU`.
    pub(crate) fn of_code(code: &str) -> Option<Self> {
        let code: [u8; 2] = code.as_bytes().try_into().ok()?;
        let code = code.map(|letter| letter.to_ascii_uppercase());
        CODES.as_bytes().chunks(3).any(|known| known.starts_with(&code)).then_some(Self(code))
    }

    /// Its code.
    pub(crate) fn as_str(&self) -> &str {
        str::from_utf8(&self.0).expect("codes are letters")
    }

    /// Its code, as stored in the journal.
    pub(crate) const fn bytes(self) -> [u8; 2] {
        self.0
    }
}

/// ISO 3166-1, and `XK` for Kosovo: ISO leaves this code to its users, and network databases agree on it.
const CODES: &str = "\
    AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS \
    BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE \
    EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM \
    HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC \
    LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA \
    NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW \
    SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO \
    TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_a_country_or_nothing() {
        for (code, country) in [
            ("DE", Some("DE")),
            ("de", Some("DE")),
            ("AD", Some("AD")),
            ("ZW", Some("ZW")),
            ("XK", Some("XK")),
        ] {
            let found = Country::of_code(code);
            assert_eq!(found.as_ref().map(Country::as_str), country, "{code}");
        }
        for code in ["", "D", "DEU", "XX", "T1", "EU", "A1", "ZZ", "D ", " D", "E\0", "é", "D\u{130}"] {
            assert_eq!(Country::of_code(code), None, "{code:?}");
        }
    }

    #[test]
    fn country_codes_are_unique_and_sorted() {
        let codes: Vec<_> = CODES.split(' ').collect();
        assert_eq!(codes.len(), 250);
        assert!(codes.is_sorted_by(|one, next| one < next && next.len() == 2));
    }
}
