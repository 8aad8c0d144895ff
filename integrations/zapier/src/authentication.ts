import type { App, Bundle, ZObject } from 'zapier-platform-core';
import { installationName } from './base-address.ts';
import { readPage } from './read-page.ts';

export interface Connected {
  readonly installation: string;
  /** Null while there are no leads, because only a lead contains it. */
  readonly companyName: string | null;
}

/** Makes the request that a poll makes, so that every reason for a poll to fail shows when the connection is made. */
export async function testConnection(z: ZObject, bundle: Bundle): Promise<Connected> {
  const { leads } = await readPage(z, bundle, { limit: 1 });
  return {
    installation: installationName(bundle.authData['baseUrl'] ?? ''),
    companyName: leads[0]?.companyName ?? null,
  };
}

/** Zapier passes what the test returned as the input. */
export async function connectionLabel(_z: ZObject, { inputData }: Bundle): Promise<string> {
  const { companyName, installation } = inputData;
  return companyName ? `${companyName} (${installation})` : `${installation}`;
}

export const authentication: NonNullable<App['authentication']> = {
  type: 'custom',
  fields: [
    {
      key: 'baseUrl',
      label: 'Base Address',
      type: 'string',
      required: true,
      placeholder: 'https://leads.example.com',
      helpText: 'The address of Leadtap. Ask the operator who gave you the access token.',
    },
    {
      key: 'token',
      label: 'Access Token',
      type: 'password',
      required: true,
      helpText:
        'A long word that begins with "ey". It decides which leads you see. Treat it like a password.',
    },
  ],
  test: testConnection,
  connectionLabel,
};
