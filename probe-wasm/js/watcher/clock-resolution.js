// Measures the smallest step of the page's clock.

/** Two steps of the coarsest usual clock (1 ms in Firefox), and no more, as it blocks the main thread. */
const SAMPLE_MS = 2;
/** More reads than any browser makes in that time. */
const MAX_READS = 1e6;

/** The step in milliseconds, to a microsecond. Absent if the clock stood still, as in tests of pages. */
export function clockResolution(clock) {
  const start = clock.now();
  let last = start;
  let smallest;
  for (let reads = 0; reads < MAX_READS && last - start < SAMPLE_MS; reads++) {
    const time = clock.now();
    if (time > last && !(time - last > smallest)) smallest = time - last;
    last = time;
  }
  return smallest && Math.round(smallest * 1000) / 1000;
}
