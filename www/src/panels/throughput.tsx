/** Tokens per second of all streams together over time, each direction by itself. */
import type { Summary, Timeseries } from "../api/api-types";
import { TimeFigure, type TimeLine } from "../charts/time-figure";
import { percent, rate } from "../format";

const LINES: readonly TimeLine<"input_tokens_per_second" | "output_tokens_per_second">[] = [
  { label: "input tokens", key: "input_tokens_per_second", colour: "server" },
  { label: "output tokens", key: "output_tokens_per_second", colour: "client" },
];

interface ThroughputProps {
  summary: Summary;
  series: Timeseries;
}

export function Throughput({ summary: { throughput, with_usage: usage }, series }: ThroughputProps) {
  return (
    <TimeFigure
      chart="throughput"
      title="Throughput"
      caption={`${rate(throughput.requests_per_second)} requests. ${percent(usage.ratio)} of the streams have a token count.`}
      series={series}
      lines={LINES}
      scale="log"
      text={rate}
      more={({ requests_per_second: requests }) => [{ label: "requests", text: rate(requests) }]}
    />
  );
}
