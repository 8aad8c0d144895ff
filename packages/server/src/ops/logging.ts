import { type Logger, pino } from 'pino';

/** JSON lines, for machines to collect. What a request's line holds is decided in `request-log.ts`. */
export const makeLogger = (level: string, destination: { write(line: string): void }): Logger =>
  pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
