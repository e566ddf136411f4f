/** Releases and posted markers in the period of the error budgets. */
import { useState } from "preact/hooks";

import { LOADING, toResult, type AsyncResult } from "../../api/async-result";
import { getMarkers } from "../../api/client";
import type { FixedRange } from "../../api/range";
import type { Markers } from "../../api/schemas";
import { Answered } from "../../charts/figure";
import { markerText } from "../../charts/markers";
import { dateTime, plural } from "../../format";
import { view } from "../../state";

/** They are loaded when the list is opened, because the collector reads all kept streams of the period for them. */
export function BudgetMarkers({ period }: { period: FixedRange }) {
  const [result, setResult] = useState<AsyncResult<Markers>>(LOADING);
  const load = async () => {
    setResult(await toResult(getMarkers({ range: period, filters: view.peek().filters }, {})));
  };
  return (
    <details data-markers={result.kind} onToggle={({ currentTarget: { open } }) => open && void load()}>
      <summary>Releases and changes</summary>
      <Answered result={result}>{(answer) => <Known answer={answer} />}</Answered>
    </details>
  );
}

function Known({ answer: { markers, omitted, to } }: { answer: Markers }) {
  return (
    <>
      <p class="dim">
        {plural(markers.length + omitted, "marker")}
        {omitted > 0 && `, of which the last ${markers.length} are listed`}
      </p>
      {markers.map((marker) => (
        <p key={`${marker.id} ${markerText(marker)}`}>
          {dateTime(marker.timestamp_ms, to)}{" "}
          {marker.url ? (
            <a href={marker.url} rel="noreferrer">
              {markerText(marker)}
            </a>
          ) : (
            markerText(marker)
          )}
        </p>
      ))}
    </>
  );
}
