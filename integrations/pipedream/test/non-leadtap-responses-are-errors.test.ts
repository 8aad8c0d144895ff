import { expect, it } from 'vitest';
import { startService } from '../../../packages/testing/harness/service.ts';
import {
  FOREIGN_ANSWERS,
  NOT_LEADTAP,
  serveAnswer,
  UNDECODABLE_LINKS,
} from '../../../packages/testing/integrations/foreign-answers.ts';
import { addLeads, connectionOf } from '../../../packages/testing/integrations/new-leads.ts';
import { PipedreamSource } from './pipedream.ts';

it.each([...FOREIGN_ANSWERS, ...UNDECODABLE_LINKS])(
  '$name emits nothing and leaves the position where it is',
  async (answer) => {
    const service = await startService();
    const connection = await connectionOf(service);
    const source = new PipedreamSource(connection);
    await source.deploy();
    const ids = await addLeads(service, 2, 'new');
    const position = new Map(source.db);

    source.connection = { ...connection, baseUrl: await serveAnswer(answer) };
    await expect(source.deploy()).rejects.toThrow(NOT_LEADTAP);
    await expect(source.run()).rejects.toThrow(NOT_LEADTAP);
    expect([source.db, source.emitted]).toEqual([position, []]);

    source.connection = connection;
    await source.run();
    expect(source.emitted).toMatchObject(ids.map((id) => ({ id })));
  },
);
