import type { IAuthenticateGeneric, ICredentialType, Icon, INodeProperties } from 'n8n-workflow';

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
}
