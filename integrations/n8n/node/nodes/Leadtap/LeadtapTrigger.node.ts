import {
  type INodeExecutionData,
  type INodeType,
  type INodeTypeDescription,
  type IPollFunctions,
  NodeConnectionTypes,
} from 'n8n-workflow';
import { itemsOf } from './lead.ts';
import { newLeads } from './new-leads.ts';
import { PROPERTIES } from './properties.ts';
import { samples } from './samples.ts';
import { testCredential } from './test-credential.ts';

export class LeadtapTrigger implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Leadtap Trigger',
    name: 'leadtapTrigger',
    icon: { light: 'file:../../icons/leadtap.svg', dark: 'file:../../icons/leadtap.dark.svg' },
    group: ['trigger'],
    version: 1,
    subtitle: 'On new lead',
    description: 'Starts the workflow when new leads arrive in Leadtap',
    defaults: { name: 'Leadtap Trigger' },
    polling: true,
    inputs: [],
    outputs: [NodeConnectionTypes.Main],
    credentials: [{ name: 'leadtapApi', required: true, testedBy: 'leadtapApiTest' }],
    properties: PROPERTIES,
  };

  methods = { credentialTest: { leadtapApiTest: testCredential } };

  async poll(this: IPollFunctions): Promise<INodeExecutionData[][] | null> {
    const leads = this.getMode() === 'manual' ? await samples(this) : await newLeads(this);
    return leads.length === 0 ? null : [itemsOf(this, leads)];
  }
}
