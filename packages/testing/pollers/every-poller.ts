import { activepiecesInstant, activepiecesPiece } from '../../../integrations/activepieces/test/poller.ts';
import { makeApp, makeInstant } from '../../../integrations/make/test/poller.ts';
import { n8nInstant, n8nNode } from '../../../integrations/n8n/test/poller.ts';
import { nodeRedFlow, nodeRedInstant } from '../../../integrations/node-red/test/poller.ts';
import { pipedreamSource } from '../../../integrations/pipedream/test/poller.ts';
import {
  powerAutomateConnector,
  powerAutomateInstant,
} from '../../../integrations/power-automate/test/poller.ts';
import { workatoConnector, workatoInstant } from '../../../integrations/workato/test/poller.ts';
import { zapierApp, zapierInstant } from '../../../integrations/zapier/test/poller.ts';
import { client, clientInstant } from './client.ts';
import type { OurWayKey } from './outcomes.ts';
import type { MakePoller } from './poller.ts';

export const OUR_POLLERS: Readonly<Record<OurWayKey, MakePoller>> = {
  zapierInstant,
  zapierApp,
  makeApp,
  makeInstant,
  n8nNode,
  n8nInstant,
  workatoInstant,
  workatoConnector,
  activepiecesPiece,
  activepiecesInstant,
  pipedreamSource,
  powerAutomateInstant,
  powerAutomateConnector,
  nodeRedFlow,
  nodeRedInstant,
  client,
  clientInstant,
};
