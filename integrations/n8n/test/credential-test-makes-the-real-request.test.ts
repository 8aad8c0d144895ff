import {
  type ICredentialType,
  type INodeCredentialTestResult,
  type INodeTypes,
  Workflow,
} from 'n8n-workflow';
import { describe, expect, it } from 'vitest';
import { startService } from '../../../packages/testing/harness/service.ts';
import {
  FOREIGN_ANSWERS,
  startForeignProxy,
  UNDECODABLE_LINKS,
} from '../../../packages/testing/integrations/foreign-answers.ts';
import { LeadtapApi } from '../node/credentials/LeadtapApi.credentials.ts';
import { LeadtapTrigger } from '../node/nodes/Leadtap/LeadtapTrigger.node.ts';
import { credentialTestFunctions } from './requests.ts';
import { makeWorkflow } from './workflow.ts';

type Credential = { baseUrl: string; accessToken: string };

/** What n8n does for the button “Test”: it runs the function that the node names for its credential. */
async function testCredential(data: Credential): Promise<INodeCredentialTestResult> {
  const { description, methods } = new LeadtapTrigger();
  const [credential] = description.credentials ?? [];
  const name = credential?.testedBy as keyof typeof methods.credentialTest;
  const decrypted = { id: '1', name: 'Leadtap', type: credential?.name ?? '', data };
  return methods.credentialTest[name].call(credentialTestFunctions, decrypted);
}

const messageFor = async (credential: Credential) => (await testCredential(credential)).message;

it('n8n finds no other test, which it would run first', () => {
  const credential: ICredentialType = new LeadtapApi();
  expect(credential.test).toBeUndefined();
});

it('the credential adds the token to requests of n8n’s own nodes', () => {
  const nodeTypes = {} as INodeTypes;
  const { expression } = new Workflow({ nodes: [], connections: {}, active: false, nodeTypes });
  const node = {
    id: '',
    name: '',
    type: '',
    typeVersion: 1,
    position: [0, 0] as [number, number],
    parameters: {},
  };
  const header = String(new LeadtapApi().authenticate.properties.headers?.['Authorization']);
  const keys = { $credentials: { accessToken: 'abc' } };
  expect(expression.getSimpleParameterValue(node, header, 'internal', keys)).toBe('Bearer abc');
});

describe('the test of a credential', () => {
  it.each([{ leads: 0 }, { leads: 2 }])('passes with $leads leads', async ({ leads }) => {
    const service = await startService();
    for (let lead = 0; lead < leads; lead += 1) await service.add({});
    const credential = { baseUrl: service.url, accessToken: await service.token('boss') };
    expect(await testCredential(credential)).toEqual({ status: 'OK', message: 'Connection successful!' });
  });

  it.each([
    ['starter', 'The Professional plan is required. '],
    ['unknown-user', 'The user does not exist. '],
  ])('says for %s: %s', async (user, sentence) => {
    const service = await startService();
    const credential = { baseUrl: service.url, accessToken: await service.token(user) };
    expect(await testCredential(credential)).toMatchObject({ status: 'Error' });
    expect(await messageFor(credential)).toContain(sentence);
  });

  it('says that a token is not accepted, and that there are too many requests', async () => {
    const service = await startService();
    expect(await messageFor({ baseUrl: service.url, accessToken: 'made-up' })).toMatch(/token is not valid/);
    const credential = { baseUrl: service.url, accessToken: await service.token('boss') };
    let result = await testCredential(credential);
    while (result.status === 'OK') result = await testCredential(credential);
    expect(result.message).toMatch(/^Too many requests/);
  });

  it('says what to check when the address is wrong', async () => {
    const service = await startService();
    const accessToken = await service.token('boss');
    expect(await messageFor({ baseUrl: `${service.url}/wrong`, accessToken })).toMatch(
      /nothing at this address/,
    );
    await service.stop();
    expect(await testCredential({ baseUrl: service.url, accessToken })).toEqual({
      status: 'Error',
      message: expect.stringMatching(
        /^No answer from http.+: check the base URL, and that n8n can reach it$/,
      ),
    });
    expect(await messageFor({ baseUrl: 'leads', accessToken })).toMatch(/check the base URL/);
  });

  it.each([...FOREIGN_ANSWERS, ...UNDECODABLE_LINKS])(
    'fails for a server that answers 200 with $name',
    async (foreign) => {
      const service = await startService();
      const proxy = await startForeignProxy(service.url);
      proxy.foreign = foreign;
      const credential = { baseUrl: `${proxy.url}/`, accessToken: await service.token('boss') };
      expect(await testCredential(credential)).toEqual({
        status: 'Error',
        message: `${proxy.url} answered 200, but not with a list of leads of Leadtap: check the base URL`,
      });
    },
  );
});

it.each(['/', '//'])('a base URL may have a path and end in %s', async (end) => {
  const service = await startService({ env: { LEADTAP_BASE_PATH: '/api' } });
  const credential = { baseUrl: service.url + end, accessToken: await service.token('boss') };
  expect(service.url).toMatch(/\/api$/);
  expect(await testCredential(credential)).toMatchObject({ status: 'OK' });
  expect(await makeWorkflow({ credential }).activate()).toEqual([]);
});
