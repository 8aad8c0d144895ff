import {
  type ICredentialDataDecryptedObject,
  type IDataObject,
  type INode,
  type INodeExecutionData,
  type INodeParameters,
  type IPollFunctions,
  Workflow,
} from 'n8n-workflow';
import { LeadtapTrigger } from '../node/nodes/Leadtap/LeadtapTrigger.node.ts';
import { authenticatedRequest } from './authenticated-request.ts';

export interface TriggerOptions {
  readonly credential: { readonly baseUrl: string; readonly accessToken: string };
  readonly parameters?: INodeParameters;
  readonly timezone?: string;
}

/** An active workflow with our trigger, as n8n runs it: its own classes, with what its server does around them. */
export interface ActiveWorkflow {
  /** The first poll. n8n saves what the node remembers afterwards. */
  activate(): Promise<IDataObject[]>;
  /** One of the polls after it. n8n saves what the node remembers only together with leads that it hands on. */
  poll(): Promise<IDataObject[]>;
  /** What the editor shows for “Fetch test event”. */
  fetchTestEvent(): Promise<IDataObject[]>;
  /** The process ends, and another one begins with what was saved. */
  restart(): void;
  /** The user saves other settings. */
  change(parameters: INodeParameters): void;
  readonly remembered: IDataObject;
}

const trigger = new LeadtapTrigger();
const nodeTypes = {
  getByName: () => trigger,
  getByNameAndVersion: () => trigger,
  getKnownTypes: () => ({}),
};

const leadsOf = (items: INodeExecutionData[][] | null): IDataObject[] =>
  (items ?? []).flat().map(({ json }) => json);

export function makeWorkflow(options: TriggerOptions): ActiveWorkflow {
  let parameters = options.parameters ?? {};
  let saved = '{}';
  let workflow = load();

  function load(): Workflow {
    const node: INode = {
      id: 'the-node',
      name: 'Leadtap Trigger',
      type: 'n8n-nodes-leadtap.leadtapTrigger',
      typeVersion: 1,
      position: [0, 0],
      parameters,
    };
    const settings = { timezone: options.timezone ?? 'UTC' };
    const staticData: IDataObject = JSON.parse(saved);
    return new Workflow({ nodes: [node], connections: {}, active: true, nodeTypes, settings, staticData });
  }
  const save = () => {
    saved = JSON.stringify(workflow.staticData);
  };
  const run = async (mode: 'trigger' | 'manual') => {
    const items = await trigger.poll.call(pollFunctions(workflow, mode, options.credential));
    return { items, leads: leadsOf(items) };
  };

  return {
    async activate() {
      const { leads } = await run('trigger');
      save();
      return leads;
    },
    async poll() {
      const { items, leads } = await run('trigger');
      if (items !== null) save();
      return leads;
    },
    fetchTestEvent: async () => (await run('manual')).leads,
    restart() {
      workflow = load();
    },
    change(changed) {
      save();
      parameters = changed;
      workflow = load();
    },
    get remembered() {
      return { ...workflow.getStaticData('node', onlyNode(workflow)) };
    },
  };
}

function onlyNode({ nodes }: Workflow): INode {
  const [node] = Object.values(nodes);
  if (!node) throw new Error('the workflow has no node');
  return node;
}

/** What n8n calls `poll` with, as far as the node uses it. */
function pollFunctions(
  workflow: Workflow,
  mode: 'trigger' | 'manual',
  credential: ICredentialDataDecryptedObject,
): IPollFunctions {
  const node = onlyNode(workflow);
  const parameter = (name: string) =>
    workflow.expression.getParameterValue(node.parameters[name] ?? '', null, 0, 0, node.name, [], mode, {});
  const functions: Partial<IPollFunctions> = {
    getMode: () => mode,
    getNode: () => node,
    getTimezone: () => workflow.timezone,
    getNodeParameter: parameter,
    getWorkflowStaticData: (type) => workflow.getStaticData(type, node),
    getCredentials: async <T extends object>() => credential as T,
    helpers: {
      httpRequestWithAuthentication: async (_type, request) => authenticatedRequest(credential, request),
      returnJsonArray: (data) => (Array.isArray(data) ? data : [data]).map((json) => ({ json })),
    } as IPollFunctions['helpers'],
  };
  return functions as IPollFunctions;
}
