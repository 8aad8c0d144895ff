import {
  type IDataObject,
  type INodeExecutionData,
  type INodeType,
  type INodeTypeDescription,
  type IPollFunctions,
  NodeConnectionTypes,
} from 'n8n-workflow';
import { simplify } from './lead.ts';
import { newLeads } from './new-leads.ts';
import { readPage } from './page.ts';
import { SAMPLE_LEAD } from './sample-lead.ts';
import { testCredential } from './test-credential.ts';

const SAMPLES = 3;

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
    properties: [
      {
        displayName: 'Event',
        name: 'event',
        type: 'options',
        noDataExpression: true,
        options: [
          {
            name: 'New Lead',
            value: 'newLead',
            action: 'On new lead',
            description: 'When a lead has arrived',
          },
        ],
        default: 'newLead',
      },
      {
        displayName: 'Start From',
        name: 'startFrom',
        type: 'options',
        noDataExpression: true,
        options: [
          {
            name: 'Now',
            value: 'now',
            description: 'Leads that arrive after the workflow is activated',
          },
          {
            name: 'A Date',
            value: 'date',
            description: 'Leads that arrived after a date as well',
          },
          {
            name: 'Everything',
            value: 'everything',
            description: 'All leads there are, oldest first, then each new one',
          },
        ],
        default: 'now',
        description:
          'Which leads the active workflow gets first. From then on the trigger remembers the last lead; it starts over when you change this.',
      },
      {
        displayName: 'Start Date',
        name: 'startDate',
        type: 'dateTime',
        required: true,
        displayOptions: { show: { startFrom: ['date'] } },
        default: '',
        description: 'In the time zone of the workflow',
      },
      {
        displayName: 'Simplify',
        name: 'simplify',
        type: 'boolean',
        default: true,
        description: 'Whether to return a simplified version of the response instead of the raw data',
      },
    ],
  };

  methods = { credentialTest: { leadtapApiTest: testCredential } };

  async poll(this: IPollFunctions): Promise<INodeExecutionData[][] | null> {
    const leads = this.getMode() === 'manual' ? await samples(this) : await newLeads(this);
    if (leads.length === 0) return null;
    const simplified = this.getNodeParameter('simplify') as boolean;
    return [this.helpers.returnJsonArray(simplified ? leads.map(simplify) : leads)];
  }
}

/** For the editor: the newest leads. Nothing is remembered, so that a test takes no lead from the active workflow. */
async function samples(context: IPollFunctions): Promise<IDataObject[]> {
  const { leads } = await readPage(context, { limit: SAMPLES });
  return leads.length > 0 ? [...leads] : [SAMPLE_LEAD];
}
