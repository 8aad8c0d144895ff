/** Longer names are not worth a comparison. */
const MAX_COMPARED = 40;

/** The name that was probably meant, if one is close. */
export function nearestName(given: string, names: readonly string[]): string | undefined {
  if (given.length > MAX_COMPARED) return undefined;
  const word = folded(given);
  const near = names
    .map((name) => ({ name, distance: editDistance(word, folded(name)) }))
    .filter(({ name, distance }) => distance <= mayBeMistyped(name))
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.name;
}

/** `first_name`, `FirstName` and `firstname` are one name to a person. */
const folded = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');

/** A third of a word may be mistyped, and no more than two letters. */
const mayBeMistyped = (name: string): number => Math.min(2, Math.floor(name.length / 3));

/** Levenshtein: the fewest letters to insert, delete or replace to get from one word to the other. */
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
