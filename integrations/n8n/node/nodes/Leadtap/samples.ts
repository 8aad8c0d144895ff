import type { IDataObject } from 'n8n-workflow';
import { type Context, readPage } from './page.ts';
import { SAMPLE_LEAD } from './sample-lead.ts';

const SAMPLES = 3;

/** For the editor: the newest leads. Nothing is remembered, so that a test takes no lead from the active workflow. */
export async function samples(context: Context): Promise<IDataObject[]> {
  const { leads } = await readPage(context, { limit: SAMPLES });
  return leads.length > 0 ? [...leads] : [SAMPLE_LEAD];
}
