/** Releases of the app in the range, each compared with the one before it. */
import type { AsyncResult } from "../api/async-result";
import { GLOSSARY } from "../api/glossary";
import type { Release, Releases as ReleasesAnswer } from "../api/schemas";
import { FilterButton } from "../stream/filter-button";
import { columnDuration, count, dateTime, isKnown, percent, plural } from "../format";
import { TableHead, type Column } from "../ui/table-head";
import { Term } from "../ui/term";
import { Change, type ChangeProps } from "./change";
import { differenceText, signedDuration, signedPoints } from "./release-text";

const COLUMNS: readonly Column[] = [
  ["Release"],
  ["Appeared", "mid"],
  ["Streams", "number"],
  ["TTFT p50", "number"],
  ["Change", "number"],
  ["Intact", "number wide"],
  ["Goodput", "number wide"],
  ["Abandoned", "number wide"],
];

/** One release alone is compared with nothing, so the panel shows from two on. */
export function Releases({ result }: { result: AsyncResult<ReleasesAnswer> }) {
  if (result.kind !== "known" || result.value.releases.length < 2) return null;
  const { releases, without_release: without, kept_since_ms: since } = result.value;
  const today = Date.now();
  const hasSites = new Set(releases.map(({ site }) => site)).size > 1;
  return (
    <section class="releases" data-releases={releases.length} aria-labelledby="releases-title">
      <h2 id="releases-title">
        <Term meaning={GLOSSARY.release}>Releases</Term>
      </h2>
      <table class="stream-table breakdown-table">
        <TableHead columns={COLUMNS} />
        <tbody>
          {releases.map((release) => (
            <Row key={`${release.site} ${release.release}`} release={release} today={today} hasSites={hasSites} />
          ))}
        </tbody>
      </table>
      <p class="caption">
        Change: against the release before, as a 95 % confidence interval; “none shown” if it includes zero.
        {without > 0 && ` ${plural(without, "stream")} without a release.`}
        {isKnown(since) && ` Only streams since ${dateTime(since, today)} count.`}
      </p>
    </section>
  );
}

function Row({ release: one, today, hasSites }: { release: Release; today: number; hasSites: boolean }) {
  const before = one.compared_to;
  return (
    <tr data-release={one.release}>
      <td class="model-cell">
        {hasSites && `${one.site} `}
        <FilterButton dimension="release" value={one.release} />
      </td>
      <td class="mid">{one.is_new ? dateTime(one.first_ms, today) : "–"}</td>
      <td class="number">{count(one.streams)}</td>
      <td class="number strong">{columnDuration(one.ttfv_p50_ms)}</td>
      <td class="number">
        {before ? <Change difference={before.ttfv_p50_ms} format={signedDuration} higherIsBetter={false} /> : "–"}
      </td>
      <Share ratio={one.integrity.ratio} difference={before?.integrity} higherIsBetter={true} />
      <Share ratio={one.goodput.ratio} difference={before?.goodput} higherIsBetter={true} />
      <Share ratio={one.abandonment.ratio} difference={before?.abandonment} higherIsBetter={false} />
    </tr>
  );
}

type ShareProps = Omit<ChangeProps, "format"> & { ratio: number | null | undefined };

/** A share, with its change below it only if there is one. */
function Share({ ratio, difference, higherIsBetter }: ShareProps) {
  return (
    <td class="number wide">
      {percent(ratio)}
      {differenceText(difference, signedPoints) !== null && (
        <small class="share">
          {"\u00a0"}
          <Change difference={difference} format={signedPoints} higherIsBetter={higherIsBetter} />
        </small>
      )}
    </td>
  );
}
