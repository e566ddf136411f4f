// The random number of a tab, by which the collector counts visits. It says nothing about the user.

/** A number as the collector accepts it: what another script has stored under the name is replaced. */
const NUMBER = /^[\da-f]{1,16}$/;

/** Adds `visit` to each report as it is sent, which is only with the user's consent. */
export const visits = () => () => {
  let number;

  return {
    addFields(report, stream, goes) {
      if (goes) report.visit = number ??= numberOfTab();
    },
  };
};

/** All pages of a tab have the same number. In a page that may not store anything, each has its own. */
function numberOfTab() {
  const [drawn] = crypto.getRandomValues(new BigUint64Array(1));
  const number = drawn.toString(16);
  try {
    const kept = sessionStorage.llmRumVisit;
    return NUMBER.test(kept) ? kept : (sessionStorage.llmRumVisit = number);
  } catch {
    return number;
  }
}
