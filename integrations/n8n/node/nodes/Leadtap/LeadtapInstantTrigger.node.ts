import {
  type INodeType,
  type INodeTypeDescription,
  type ITriggerFunctions,
  type ITriggerResponse,
  NodeConnectionTypes,
} from 'n8n-workflow';
import { followLeads, N8N_TIMING } from './follow.ts';
import { itemsOf } from './lead.ts';
import { PROPERTIES } from './properties.ts';
import { samples } from './samples.ts';
import { testCredential } from './test-credential.ts';

/**
 * A node of its own, because n8n gives every node with `poll` a schedule, and runs it: in one node with both, the user would set
 * poll times that mean nothing.
 */
export class LeadtapInstantTrigger implements INodeType {
  description: INodeTypeDescription = {
    displayName: 'Leadtap Instant Trigger',
    name: 'leadtapInstantTrigger',
    icon: { light: 'file:../../icons/leadtap.svg', dark: 'file:../../icons/leadtap.dark.svg' },
    group: ['trigger'],
    version: 1,
    subtitle: 'On new lead, at once',
    description: 'Starts the workflow as soon as a lead arrives in Leadtap',
    defaults: { name: 'Leadtap Instant Trigger' },
    inputs: [],
    outputs: [NodeConnectionTypes.Main],
    credentials: [{ name: 'leadtapApi', required: true, testedBy: 'leadtapApiTest' }],
    properties: PROPERTIES,
  };

  methods = { credentialTest: { leadtapApiTest: testCredential } };

  async trigger(this: ITriggerFunctions): Promise<ITriggerResponse> {
    if (this.getMode() !== 'manual') return followLeads(this, N8N_TIMING);
    // For the editor. It holds no connection, and remembers nothing.
    return { manualTriggerFunction: async () => this.emit([itemsOf(this, await samples(this))]) };
  }
}
