/** Menu that chooses the columns of the stream list. */
import { DEFAULT_COLUMNS } from "../api/stream-columns";
import { resetColumns, toggleColumn, view } from "../state";
import { COLUMNS } from "../stream/columns";
import { Popover } from "../ui/popover";

export function ColumnMenu() {
  const chosen = view.value.columns;
  const shown = chosen ?? DEFAULT_COLUMNS;
  return (
    <Popover kind="column-menu" title="Columns of the list" label="Columns">
      {({ isOpen }) =>
        isOpen && (
          <div class="filter-panel">
            <ul class="filter-values">
              {COLUMNS.map(({ id, label }) => (
                <li key={id}>
                  <label>
                    <input
                      type="checkbox"
                      name="column"
                      value={id}
                      checked={shown.includes(id)}
                      onChange={() => toggleColumn(id)}
                    />
                    <span>{label}</span>
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
