// Nothing but `EventSource`, watched by the extension of that name: `use(eventSource())`, or `eventSource` in
// the second tag's `data-with`. It can only ask by an address; one that stays open asks again by itself.
export function plainEventSource(base, prompt, write) {
  const source = new EventSource(`${base}/events?prompt=${encodeURIComponent(prompt)}`);
  return new Promise((resolve, reject) => {
    source.onmessage = ({ data }) => {
      if (data != "[DONE]") return write(JSON.parse(data).choices[0]?.delta?.content ?? "");
      source.close();
      resolve();
    };
    source.onerror = () => {
      source.close();
      reject(new Error("the connection broke"));
    };
  });
}
