/** What the slow, failed or abandoned streams have in common. */
import type { Dimension } from "../../api/api-types";
import type { AsyncResult } from "../../api/async-result";
import type { Affected, DimensionValue, Explanation, Finding } from "../../api/schemas";
import { Answered } from "../../charts/figure";
import { count, humanize, isKnown, percent } from "../../format";
import { GLOSSARY } from "../../api/glossary";
import { explainedOf, explanation, setFilter, zoomTo } from "../../state";
import { SegmentedControl } from "../../ui/segmented-control";
import { TableHead } from "../../ui/table-head";
import { Term } from "../../ui/term";
import { clearFinding, explanationCaption, timeText, valuesText, valueText } from "./explain-text";

const OPTIONS: readonly { value: Affected; label: string }[] = [
  { value: "slow", label: "slow" },
  { value: "failed", label: "failed" },
  { value: "abandoned", label: "abandoned" },
];

export function Explain({ result }: { result: AsyncResult<Explanation> }) {
  const of = explainedOf.value;
  return (
    <section class="explain" id="explain" data-explain={of} aria-labelledby="explain-title">
      <div class="figure-head">
        <h2 id="explain-title">
          <Term meaning={GLOSSARY[`${of} stream`]}>What the {of} streams have in common</Term>
        </h2>
        <SegmentedControl<Affected>
          legend="Streams to explain"
          name="explained"
          options={OPTIONS}
          chosen={of}
          onChoose={(value) => (explainedOf.value = value)}
        />
      </div>
      <Answered result={result}>{(answer) => <Findings answer={answer} />}</Answered>
    </section>
  );
}

function Findings({ answer }: { answer: Explanation }) {
  const today = Date.now();
  return (
    <>
      {answer.findings.length > 0 && (
        <table class="stream-table breakdown-table">
          <TableHead
            columns={[
              ["In common"],
              [`Of the ${answer.of}`, "number"],
              ["Of the others", "number"],
              ["Affected of all", "number mid"],
              ["Cause", "mid"],
              ["Time", "mid"],
            ]}
          />
          <tbody>
            {answer.findings.map((finding) => (
              <Row key={valuesText(finding.values)} finding={finding} today={today} to={answer.to} />
            ))}
          </tbody>
        </table>
      )}
      <p class="caption">{explanationCaption(answer, today)}</p>
    </>
  );
}

function Row({ finding, today, to }: { finding: Finding; today: number; to: number }) {
  const { values, same, began_with: began, affected, streams, cause, since_ms: since, until_ms: until } = finding;
  const time = timeText(finding, today);
  const interval = `95 % confidence interval of the difference: ${percent(finding.excess_lower)} – ${percent(finding.excess_upper)}`;
  return (
    <tr data-finding={valuesText(values)}>
      <td class="model-cell">
        <Values values={values} between=" with " />
        {same.length > 0 && <small class="share"> same streams: {same.map(valueText).join(", ")}</small>}
      </td>
      <td class="number strong" title={interval}>
        {percent(finding.share_of_affected)}
      </td>
      <td class="number">{percent(finding.share_of_rest)}</td>
      <td class="number mid">
        {count(affected)} of {count(streams)}
      </td>
      <td class="mid">{cause ? humanize(cause.name) : "–"}</td>
      <td class="mid">
        {isKnown(since) ? (
          <button type="button" class="narrow" title="Show only this time" onClick={() => zoomTo(since, until ?? to)}>
            {time}
          </button>
        ) : (
          time
        )}
        {began.length > 0 && (
          <small class="share">
            {" "}
            appeared then: <Values values={began} between=" and " />
          </small>
        )}
      </td>
    </tr>
  );
}

function Values({ values, between }: { values: readonly DimensionValue[]; between: string }) {
  return values.map((value, at) => (
    <>
      {at > 0 && between}
      <Value key={valueText(value)} value={value} />
    </>
  ));
}

/** A button that filters the screen by the value. */
function Value({ value }: { value: DimensionValue }) {
  const text = valueText(value);
  const filter = () => setFilter(value.dimension as Dimension, value.value);
  return (
    <button type="button" class="narrow" title={`Filter by ${text}`} onClick={filter}>
      {text}
    </button>
  );
}

/** Beside the verdict: what most of the slow streams have in common, as a link to the panel. */
export function ClearFinding() {
  const result = explanation.value;
  const text = result.kind === "known" ? clearFinding(result.value) : null;
  if (text === null) return null;
  return (
    <p class="note" data-clear-finding>
      <a href="#explain">{text}</a>
    </p>
  );
}
