/** The filters as chips, and the panel that sets them. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

import type { Dimension, Group } from "../../api/api-types";
import { LOADING, toResult, type AsyncResult } from "../../api/async-result";
import { getBreakdown } from "../../api/client";
import { filteredDimensions, filterText, filterValues, namedValues, relationOf, toggled, type Relation } from "../../filters";
import { count, dateTime, isKnown, plural, valueLabel } from "../../format";
import { dashboardData, setFilters, view } from "../../state";
import { Icon } from "../../ui/icon";
import { Popover } from "../../ui/popover";
import { SegmentedControl } from "../../ui/segmented-control";
import { DimensionSelect } from "./dimension-select";

const RELATIONS = (["is", "is not"] as const).map((value) => ({ value, label: value }));
/** Values with the most streams; the text field narrows them. */
const MOST_VALUES = 200;
/** With more values a field to search in them appears. */
const SEARCHED_FROM = 8;

export function FilterBar() {
  if (dashboardData.value === null) return null;
  return (
    <div class="filter-bar">
      <Popover kind="filter-menu" title="Filter (f)" label={<FilterLabel />}>
        {({ isOpen }) => isOpen && <FilterPanel />}
      </Popover>
      <FilterChips />
      <KeptSince />
    </div>
  );
}

function FilterLabel() {
  return (
    <>
      <Icon name="filter" />
      <span>Filter</span>
    </>
  );
}

function FilterChips() {
  const { filters } = view.value;
  const removed = useRef<number | null>(null);
  // Removing a chip removes the focus: move it to the next chip, the last one, or the filter button.
  useLayoutEffect(() => {
    if (removed.current === null) return;
    const chips = document.querySelectorAll<HTMLElement>(".chip");
    const next = chips[Math.min(removed.current, chips.length - 1)];
    (next ?? document.querySelector<HTMLElement>(".filter-menu summary"))?.focus();
    removed.current = null;
  }, [filters]);
  const set = filteredDimensions(filters).map((dimension) => ({
    dimension,
    ...filterText(dimension, filters[dimension] ?? []),
  }));
  if (set.length === 0) return null;
  return (
    <ul class="chips" aria-label="Filters">
      {set.map(({ dimension, subject, text }, at) => (
        <li key={dimension}>
          <button
            type="button"
            class="chip"
            onClick={() => {
              removed.current = at;
              setFilters({ [dimension]: [] });
            }}
            title="Remove this filter"
          >
            <span>
              {subject} <b>{text}</b>
            </span>
            <Icon name="close" />
            <span class="unseen">remove</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Some filters need single streams, of which not all are kept or read. */
function KeptSince() {
  const since = dashboardData.value?.summary.kept_since_ms;
  if (!isKnown(since)) return null;
  return <small data-kept-since>Only streams since {dateTime(since, Date.now())} count.</small>;
}

function FilterPanel() {
  const { filters } = view.value;
  const [dimension, setDimension] = useState<Dimension>(() => filteredDimensions(filters)[0] ?? "model");
  const chosen = filters[dimension] ?? [];
  const [relation, setRelation] = useState<Relation>(() => relationOf(chosen));
  const show = (next: Dimension) => {
    setDimension(next);
    setRelation(relationOf(filters[next] ?? []));
  };
  const relate = (next: Relation) => {
    setRelation(next);
    setFilters({ [dimension]: filterValues(next, namedValues(chosen)) });
  };
  return (
    <div class="filter-panel" data-filter-panel>
      <div class="filter-subject">
        <DimensionSelect label="Filter by" value={dimension} onChoose={show} />
        <SegmentedControl<Relation>
          legend="Relation"
          name="relation"
          options={RELATIONS}
          chosen={relation}
          onChoose={relate}
        />
      </div>
      <Values
        key={dimension}
        dimension={dimension}
        names={namedValues(chosen)}
        onToggle={(name) => setFilters({ [dimension]: toggled(chosen, relation, name) })}
      />
    </div>
  );
}

interface ValuesProps {
  dimension: Dimension;
  names: readonly string[];
  onToggle: (name: string) => void;
}

function Values({ dimension, names, onToggle }: ValuesProps) {
  const result = useGroups(dimension);
  const [search, setSearch] = useState("");
  if (result.kind === "loading") return <p class="nothing">Loading…</p>;
  if (result.kind === "failed") return <p class="nothing bad">{result.message}</p>;
  const missing = names.filter((name) => !result.value.some(({ value }) => value === name));
  const all = [...missing.map((value) => ({ value, streams: 0 })), ...result.value];
  const matches = (value: string) => valueLabel(dimension, value).toLowerCase().includes(search.toLowerCase());
  const shown = all.filter(({ value }) => matches(value));
  return (
    <>
      {all.length >= SEARCHED_FROM && (
        <input
          type="search"
          placeholder={`Search ${plural(all.length, "value")}`}
          aria-label="Search values"
          value={search}
          onInput={({ currentTarget }) => setSearch(currentTarget.value)}
        />
      )}
      {shown.length === 0 && <p class="nothing">No matching value in this time range.</p>}
      <ul class="filter-values">
        {shown.map(({ value, streams }) => (
          <li key={value}>
            <label>
              <input
                type="checkbox"
                name="value"
                value={value}
                checked={names.includes(value)}
                onChange={() => onToggle(value)}
              />
              <span>{valueLabel(dimension, value)}</span>
              <small>{count(streams)}</small>
            </label>
          </li>
        ))}
      </ul>
    </>
  );
}

/** The values of a dimension in the range, under the filters of the other dimensions. */
function useGroups(by: Dimension): AsyncResult<Pick<Group, "value" | "streams">[]> {
  const [result, setResult] = useState<AsyncResult<Group[]>>(LOADING);
  const { range, filters } = view.value;
  const { [by]: _own, ...others } = filters;
  const key = JSON.stringify([by, range, others]);
  useEffect(() => {
    const controller = new AbortController();
    const groups = { by, metric: "ttfv", limit: MOST_VALUES } as const;
    const request = getBreakdown({ range, filters: others }, groups, { signal: controller.signal });
    void toResult(request.then((answer) => answer.groups)).then((next) => {
      if (!controller.signal.aborted) setResult(next);
    });
    return () => controller.abort();
  }, [key]);
  return result;
}
