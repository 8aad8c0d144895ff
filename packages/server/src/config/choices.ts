import { type Parser, quoted, right, wrong } from './parsed.ts';

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

export const parseLogLevel: Parser<LogLevel> = (text) => {
  const level = LOG_LEVELS.find((known) => known === text);
  return level === undefined
    ? wrong(`${quoted(text)} is not a level`, `Write one of ${LOG_LEVELS.join(', ')}.`)
    : right(level);
};

export const parseBoolean: Parser<boolean> = (text) => {
  if (text === 'true' || text === 'false') return right(text === 'true');
  return wrong(`${quoted(text)} is neither true nor false`, 'Write true or false.');
};

export const parseAnyText: Parser<string> = (text) => right(text);
