import { editDistance } from '../../edit-distance.ts';

/** Longer names are not worth a comparison. */
const MAX_COMPARED = 40;

/** `first_name`, `FirstName` and `firstname` are one name to a person. */
const folded = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '');

/** A third of a word may be mistyped, and no more than two letters. */
const mayBeMistyped = (name: string): number => Math.min(2, Math.floor(name.length / 3));

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
