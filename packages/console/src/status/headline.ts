/** What the status page says first. It imports nothing: tests compare it with what the commands say. */

interface Diagnosed {
  readonly good: string | null;
  readonly note: string | null;
  /** The most urgent first. */
  readonly problems: readonly { readonly severity: 'error' | 'warning' | 'unknown' }[];
}

interface Headline {
  readonly level: 'error' | 'warning' | 'unknown' | 'good';
  readonly text: string;
}

/** The sentences of the problems are below it. */
export function headlineOf({ good, note, problems }: Diagnosed): Headline {
  const [first] = problems;
  const count = problems.length;
  return {
    level: first?.severity ?? (good === null ? 'unknown' : 'good'),
    text: good ?? note ?? (count === 1 ? '1 problem' : `${count} problems`),
  };
}
