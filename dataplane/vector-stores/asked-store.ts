/** A vector store of the configuration, with timeouts, metrics and a filter for the tenant. */
import { Auxiliary, type AuxiliaryWorld } from '../auxiliaries/auxiliary.ts'
import type { Section } from '../schema/index.ts'
import { masked } from '../upstream/attempt/masking.ts'
import type { Found, Search, StoreSection, VectorStore } from './contract.ts'
import { VECTOR_STORES } from './index.ts'
import { belongsTo } from './payload.ts'

export class AskedStore {
  readonly section: StoreSection
  readonly auxiliary: Auxiliary
  readonly #store: VectorStore

  constructor(section: StoreSection, whole: Section, world: AuxiliaryWorld) {
    this.section = section
    this.#store = VECTOR_STORES[section.provider](section, whole)
    this.auxiliary = new Auxiliary({ kind: 'vector_store', name: section.name }, world)
  }

  /** Nearest first, at most the requested number. Throws AuxiliaryError. */
  async search(
    search: Search,
    timeoutMs: number,
    client: AbortSignal | undefined,
  ): Promise<readonly Found[]> {
    const question = (signal: AbortSignal) => this.#ask(search, signal)
    const found = await this.auxiliary.ask(question, { timeoutMs, signal: client })
    this.auxiliary.count('ok')
    return found
  }

  close(): void {
    this.#store.close()
  }

  async #ask(search: Search, signal: AbortSignal): Promise<readonly Found[]> {
    const found = await this.#store.search(search, signal).catch((error: Error) => {
      throw new Error(this.#masked(error.message))
    })
    const { tenant_field: field } = this.section
    // Filters again, in case the store did not apply the filter.
    const isForeign = ({ payload }: Found) =>
      field !== undefined && !belongsTo(payload, field, search.tenant)
    if (found.some(isForeign))
      throw new Error(`it answered with a passage whose "${field}" is not the requesting tenant`)
    return found.filter(({ score }) => Number.isFinite(score)).slice(0, search.limit)
  }

  #masked(message: string): string {
    const sent = { credential: this.section.api_key ?? '', headers: {} }
    return masked({ class: 'server', message }, sent).message
  }
}
