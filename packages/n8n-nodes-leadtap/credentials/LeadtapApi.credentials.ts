import type {
  IAuthenticateGeneric,
  ICredentialTestRequest,
  ICredentialType,
  Icon,
  INodeProperties,
} from 'n8n-workflow';

export class LeadtapApi implements ICredentialType {
  name = 'leadtapApi';

  displayName = 'Leadtap API';

  icon: Icon = { light: 'file:../icons/leadtap.svg', dark: 'file:../icons/leadtap.dark.svg' };

  documentationUrl = 'https://leadtap.example/integrations/n8n#credential';

  properties: INodeProperties[] = [
    {
      displayName: 'Base URL',
      name: 'baseUrl',
      type: 'string',
      required: true,
      default: '',
      placeholder: 'https://leads.example.com',
      description: 'The address of the Leadtap installation, with its path if it has one, such as /api',
    },
    {
      displayName: 'Access Token',
      name: 'accessToken',
      type: 'string',
      typeOptions: { password: true },
      required: true,
      default: '',
      description: 'From the operator of the installation, who makes it with “leadtap token issue”',
    },
  ];

  authenticate: IAuthenticateGeneric = {
    type: 'generic',
    properties: { headers: { Authorization: '=Bearer {{$credentials.accessToken}}' } },
  };

  // The very request that the trigger makes, so that a credential which passes is one that works: a test of the token
  // alone would say yes to a user without the Professional plan.
  test: ICredentialTestRequest = {
    request: {
      baseURL: '={{$credentials.baseUrl.replace(/\\/+$/, "")}}',
      url: '/automation/new-leads',
      qs: { limit: 1 },
    },
    rules: [
      {
        type: 'responseCode',
        properties: {
          value: 401,
          message: 'The access token was not accepted: ask the operator for a new one',
        },
      },
      {
        type: 'responseCode',
        properties: { value: 403, message: 'The Professional plan is required to poll new leads' },
      },
      {
        type: 'responseCode',
        properties: {
          value: 404,
          message: 'The user of this token does not exist, or the base URL is wrong',
        },
      },
      {
        type: 'responseCode',
        properties: { value: 429, message: 'Too many requests: wait a minute and test again' },
      },
    ],
  };
}
