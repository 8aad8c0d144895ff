import { type IDataObject, NodeOperationError, tryToParseDateTime } from 'n8n-workflow';
import { type Context, readPage } from './page.ts';

/** Before every lead. */
const THE_BEGINNING = '1970-01-01T00:00:00.000Z';

/** What n8n keeps for an active workflow. */
interface Memory extends IDataObject {
  /** The `createdAt` of the last lead that was delivered. */
  since?: string;
  /** The choice of the user that it began with. */
  start?: string;
}

/** A position that n8n saves together with leads that are passed on. */
export interface SavedPosition extends Memory {
  since: string;
}

/** Where the active workflow continues: after its last lead, or where the user wants it to start. */
export const loadPosition = (context: Context): Promise<SavedPosition> => positionLoader(context)();

/**
 * Reads the settings at once and returns the function that may need a request: n8n evaluates expressions of a trigger only while it
 * activates the workflow.
 */
export function positionLoader(context: Context): () => Promise<SavedPosition> {
  const memory: Memory = context.getWorkflowStaticData('node');
  const start = chosenStart(context);
  if (memory.since !== undefined && memory.start === start) return async () => memory as SavedPosition;
  const since = fixedStart(context);
  return async () => Object.assign(memory, { since: since ?? (await now(context)), start });
}

/**
 * Tells one choice from another, so that another one starts over. An expression counts as it is written: one that gives
 * another date every day, such as a week ago, must not start over every day.
 */
function chosenStart(context: Context): string {
  const { startFrom, startDate } = context.getNode().parameters;
  return startFrom === 'date' ? `date ${String(startDate)}` : String(startFrom ?? 'now');
}

/** The `since` of the first poll; undefined for “now”. */
function fixedStart(context: Context): string | undefined {
  const startFrom = context.getNodeParameter('startFrom');
  if (startFrom === 'everything') return THE_BEGINNING;
  return startFrom === 'date' ? startDate(context) : undefined;
}

/**
 * Now is what the service says it is, in the `Link` of its answer. By a clock, which may be ahead or be set back, leads
 * could arrive that are never seen.
 */
async function now(context: Context): Promise<string> {
  const { nextSince } = await readPage(context, { limit: 1 });
  return nextSince;
}

/** A date without an offset is meant in the time zone of the workflow; the service would read it as UTC. */
function startDate(context: Context): string {
  const given = context.getNodeParameter('startDate');
  try {
    return tryToParseDateTime(given, context.getTimezone()).toJSDate().toISOString();
  } catch {
    throw new NodeOperationError(context.getNode(), 'The start date is not a date', {
      description: `“${String(given)}” is not a date. Choose one, such as 2026-03-02T09:30:00.`,
    });
  }
}
