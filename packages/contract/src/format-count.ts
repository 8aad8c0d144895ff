/** `12,345`. `toLocaleString` loads the data of all languages, which takes a fifth of the start of a command. */
export const formatCount = (count: number): string =>
  count < 1000
    ? String(count)
    : `${formatCount(Math.floor(count / 1000))},${String(count % 1000).padStart(3, '0')}`;
