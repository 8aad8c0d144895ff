import { expect, it } from 'vitest';
import { startService } from '../../../packages/testing/harness/service.ts';
import {
  FOREIGN_ANSWERS,
  NOT_LEADTAP,
  serveAnswer,
  UNDECODABLE_LINKS,
} from '../../../packages/testing/integrations/foreign-answers.ts';
import { addLeads, connectionOf } from '../../../packages/testing/integrations/new-leads.ts';
import { Flow } from './activepieces.ts';
import { leadtapAuth } from './piece.ts';

it.each([...FOREIGN_ANSWERS, ...UNDECODABLE_LINKS])(
  '$name starts no flow and leaves the position where it is',
  async (answer) => {
    const service = await startService();
    await addLeads(service, 3, 'before');
    const connection = await connectionOf(service);
    const flow = new Flow(connection);
    await flow.enable();
    const ids = await addLeads(service, 2, 'new');
    const position = new Map(flow.memory);

    const foreign = { ...connection, baseUrl: await serveAnswer(answer) };
    const saved = await leadtapAuth.validate?.({ auth: foreign, server: { apiUrl: '', publicUrl: '' } });
    expect(saved).toEqual({ valid: false, error: expect.stringMatching(NOT_LEADTAP) });
    flow.connection = foreign;
    for (const act of [flow.poll, flow.sample, new Flow(foreign).enable])
      await expect(act()).rejects.toThrow(NOT_LEADTAP);
    expect(flow.memory).toEqual(position);

    flow.connection = connection;
    expect(await flow.poll()).toMatchObject(ids.map((id) => ({ id })));
  },
);
