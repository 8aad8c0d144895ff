/** Answers of one second have the same, and there are many of them. */
let last = { second: Number.NaN, text: '' };

/** `Mon, 02 Mar 2026 09:30:00 GMT`. */
export function httpDate(at: number): string {
  const second = Math.floor(at / 1000);
  if (second !== last.second) last = { second, text: new Date(at).toUTCString() };
  return last.text;
}
