/** Longer names are not compared. */
const MAX_LENGTH = 40;

/** The known name that is closest to a mistyped one, if any is close. */
export function nearestName(given: string, names: readonly string[]): string | undefined {
  if (given.length > MAX_LENGTH) return undefined;
  const word = normalize(given);
  const near = names
    // The distance is at least the difference of the lengths.
    .filter((name) => Math.abs(word.length - normalize(name).length) <= maxDistance(name))
    .map((name) => ({ name, distance: editDistance(word, normalize(name)) }))
    .filter(({ name, distance }) => distance <= maxDistance(name))
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.name;
}

/** `first_name`, `FirstName` and `firstname` compare as equal. */
const normalize = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');

/** A third of the letters, at most two. */
const maxDistance = (name: string): number => Math.min(2, Math.floor(name.length / 3));

/** The Levenshtein distance. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (letter === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
