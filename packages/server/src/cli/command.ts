/** Commands as data: what `--help`, docs/command-line.md and Commander know of a command stands in one object. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { findTimeZone, toDurationMs } from '../lib/clock.ts';
import type { CommandContext } from './context.ts';

interface OptionSpec {
  readonly text: string;
  readonly isRequired?: true;
  readonly choices?: readonly string[];
  readonly default?: readonly [value: unknown, text: string];
  /** Gets the value, and what an earlier use of the same option gave. */
  readonly parse?: (text: string, previous?: never) => unknown;
  /** An option that cannot be given with this one. */
  readonly conflicts?: string;
}

export interface CommandSpec<Options, Arguments extends readonly unknown[]> {
  readonly name: string;
  /** Default: the description. */
  readonly summary?: string;
  readonly description: string;
  readonly arguments?: Readonly<Record<string, string>>;
  /** By their flags, such as `--user <id>`. */
  readonly options?: Readonly<Record<string, string | OptionSpec>>;
  readonly help?: string;
  readonly examples?: readonly string[];
  readonly run: (context: CommandContext, options: Options, ...given: Arguments) => Promise<void>;
}

export function addCommand<Options, Arguments extends readonly unknown[]>(
  parent: Command,
  context: CommandContext,
  spec: CommandSpec<Options, Arguments>,
): Command {
  const { help, examples = [] } = spec;
  const command = parent.command(spec.name).description(spec.description);
  if (spec.summary !== undefined) command.summary(spec.summary);
  for (const [name, text] of Object.entries(spec.arguments ?? {})) command.argument(name, text);
  for (const [flags, option] of Object.entries(spec.options ?? {}))
    command.addOption(toOption(flags, typeof option === 'string' ? { text: option } : option));
  if (help !== undefined) command.addHelpText('after', `\n${help.trim()}`);
  const heading = examples.length === 1 ? 'Example' : 'Examples';
  const lines = [`\n${heading}:`, ...examples.map((example) => `  ${example}`)];
  if (examples.length > 0) command.addHelpText('after', lines.join('\n'));
  // Commander passes the arguments, then the options, then itself. Its types do not know which; `spec` does.
  command.action((...given) => {
    const options: Options = given.at(-2);
    const values: unknown = given.slice(0, -2);
    return spec.run(context, options, ...(values as Arguments));
  });
  return command;
}

function toOption(flags: string, spec: OptionSpec): Option {
  const option = new Option(flags, spec.text);
  if (spec.parse) option.argParser(spec.parse as (text: string, previous: unknown) => unknown);
  if (spec.choices) option.choices(spec.choices);
  if (spec.default) option.default(...spec.default);
  if (spec.isRequired) option.makeOptionMandatory();
  if (spec.conflicts) option.conflicts(spec.conflicts);
  return option;
}

/** Collects the values of an option that can be repeated. */
export const collect = (value: string, values: readonly string[] = []): readonly string[] => [
  ...values,
  value,
];

/** Reads `90s`, `15m`, `2h`, `1d` or `1y`, from `minMs` to `maxMs`. */
export const parseDuration =
  (minMs: number, maxMs: number, hint: string) =>
  (text: string): number => {
    const durationMs = toDurationMs(text) ?? 0;
    if (durationMs >= minMs && durationMs <= maxMs) return durationMs;
    throw new InvalidArgumentError(hint);
  };

/** Reads a whole number. */
export const parseNumber =
  (min: number, max = Number.MAX_SAFE_INTEGER) =>
  (text: string): number => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : -1;
    if (value >= min && value <= max) return value;
    const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
    throw new InvalidArgumentError(`Give a whole number ${range}.`);
  };

export function parseTimeZone(text: string): string {
  const timeZone = findTimeZone(text);
  if (timeZone !== undefined) return timeZone;
  throw new InvalidArgumentError(
    'Write the name of a time zone, such as Europe/Berlin, America/New_York or UTC.',
  );
}
