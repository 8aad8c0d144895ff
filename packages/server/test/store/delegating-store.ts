import type {
  ApplyOptions,
  IdempotentRequest,
  IssuedToken,
  LeadInput,
  LeadListQuery,
  LeadScope,
  LeadSearchQuery,
  Organisation,
  PageQuery,
  Store,
  UserChanges,
  VerifiedToken,
  WriteAllOutcome,
  WriteOptions,
} from 'leadtap';

/** Delegates every call. Tests derive stores with one defect from it. */
export class DelegatingStore implements Store {
  protected readonly inner: Store;

  constructor(inner: Store) {
    this.inner = inner;
  }

  findUser(userId: string) {
    return this.inner.findUser(userId);
  }
  isTokenRevoked(tokenId: string) {
    return this.inner.isTokenRevoked(tokenId);
  }
  readPage(query: PageQuery) {
    return this.inner.readPage(query);
  }
  applyOrganisation(organisation: Organisation, options?: ApplyOptions) {
    return this.inner.applyOrganisation(organisation, options);
  }
  listUsers(afterId: string | undefined, limit: number) {
    return this.inner.listUsers(afterId, limit);
  }
  updateUser(userId: string, changes: UserChanges) {
    return this.inner.updateUser(userId, changes);
  }
  removeUser(userId: string) {
    return this.inner.removeUser(userId);
  }
  recordTokens(tokens: readonly IssuedToken[]) {
    return this.inner.recordTokens(tokens);
  }
  listTokens(userId: string) {
    return this.inner.listTokens(userId);
  }
  findToken(tokenId: string) {
    return this.inner.findToken(tokenId);
  }
  revokeToken(tokenId: string) {
    return this.inner.revokeToken(tokenId);
  }
  writeLeads(leads: readonly LeadInput[], options?: WriteOptions) {
    return this.inner.writeLeads(leads, options);
  }
  writeAllLeads(
    leads: readonly LeadInput[],
    scope: LeadScope,
    sender?: VerifiedToken,
    request?: IdempotentRequest,
  ): Promise<WriteAllOutcome> {
    return this.inner.writeAllLeads(leads, scope, sender, request);
  }
  planLeads(leads: readonly LeadInput[], options?: WriteOptions) {
    return this.inner.planLeads(leads, options);
  }
  listLeads(query: LeadListQuery) {
    return this.inner.listLeads(query);
  }
  searchLeads(search: LeadSearchQuery, signal?: AbortSignal) {
    return this.inner.searchLeads(search, signal);
  }
  findLeads(id: string, companyId?: string) {
    return this.inner.findLeads(id, companyId);
  }
  status() {
    return this.inner.status();
  }
  ping() {
    return this.inner.ping();
  }
  close() {
    return this.inner.close();
  }
}
