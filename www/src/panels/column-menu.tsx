/** Menu that chooses the columns of the stream list. */
import { isAttribute, offeredAttributes } from "../api/attributes";
import { DEFAULT_COLUMNS, streamColumns } from "../api/stream-columns";
import { dashboardData, resetColumns, toggleColumn, view } from "../state";
import { columnOf } from "../stream/columns";
import { Popover } from "../ui/popover";

export function ColumnMenu() {
  const chosen = view.value.columns;
  const shown = chosen ?? DEFAULT_COLUMNS;
  const attributes = offeredAttributes(dashboardData.value?.summary.attributes ?? [], shown);
  return (
    <Popover kind="column-menu" title="Columns of the list" label="Columns">
      {({ isOpen }) =>
        isOpen && (
          <div class="filter-panel">
            <ul class="filter-values">
              {streamColumns(attributes).map(columnOf).map(({ id, label }) => (
                <li key={id} class={isAttribute(id) ? "own-line" : undefined}>
                  <label>
                    <input
                      type="checkbox"
                      name="column"
                      value={id}
                      checked={shown.includes(id)}
                      onChange={() => toggleColumn(id)}
                    />
                    <span>{label}</span>
                    {isAttribute(id) && <small>attribute</small>}
                  </label>
                </li>
              ))}
            </ul>
            <button type="button" class="more small" disabled={chosen === null} onClick={resetColumns}>
              Default columns
            </button>
          </div>
        )
      }
    </Popover>
  );
}
