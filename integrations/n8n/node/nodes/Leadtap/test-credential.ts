import type {
  ICredentialDataDecryptedObject,
  ICredentialsDecrypted,
  ICredentialTestFunctions,
  INodeCredentialTestResult,
} from 'n8n-workflow';
import { notLeadtap, pageOf, TIMEOUT_MS } from './page.ts';
import { type Answer, problemOf } from './problem.ts';

/**
 * Sends the very request that the trigger sends, and checks the answer in the same way, so that a credential which
 * passes is one that works. A test that is declared in the credential passes for any server that answers 200: n8n's
 * rules see neither the headers nor an empty list.
 */
export async function testCredential(
  this: ICredentialTestFunctions,
  { data }: ICredentialsDecrypted<ICredentialDataDecryptedObject>,
): Promise<INodeCredentialTestResult> {
  const baseUrl = String(data?.['baseUrl'] ?? '').replace(/(?<!\/)\/+$/, '');
  // The only way to send a request that n8n offers to a credential test.
  const { request } = this.helpers;
  try {
    const answer: Answer = await request({
      uri: `${baseUrl}/automation/new-leads`,
      qs: { limit: 1 },
      headers: { Authorization: `Bearer ${String(data?.['accessToken'])}` },
      json: true,
      simple: false,
      resolveWithFullResponse: true,
      timeout: TIMEOUT_MS,
    });
    const message = errorIn(answer, baseUrl);
    return message ? { status: 'Error', message } : { status: 'OK', message: 'Connection successful!' };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return {
      status: 'Error',
      message: `No answer from ${baseUrl} (${reason}): check the base URL, and that n8n can reach it`,
    };
  }
}

function errorIn(answer: Answer, baseUrl: string): string | undefined {
  if (answer.statusCode === 200) return pageOf(answer) ? undefined : notLeadtap(baseUrl);
  const problem = problemOf(answer.body);
  if (problem) return `${problem.title}. ${problem.detail}`;
  return `${baseUrl} answered ${answer.statusCode}, but not as Leadtap does: check the base URL`;
}
