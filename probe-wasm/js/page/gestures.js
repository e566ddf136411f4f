// Finds the user's gesture that caused a request.

const GESTURES = ["click", "keydown", "submit"];
/** A gesture counts as the cause of a request for this long. */
const SUBMIT_MS = 1000;

/** Returns a function that finds, for the time of a request, the time of the gesture that caused it. */
export function watchGestures(listen) {
  let gestureAt;
  for (const gesture of GESTURES)
    listen(window, gesture, ({ timeStamp, key = "Enter" }) => {
      if (key == "Enter") gestureAt = timeStamp;
    });
  return (time) => (time >= gestureAt && time <= gestureAt + SUBMIT_MS ? gestureAt : undefined);
}
