/** The retrieval sections of the active configuration; unchanged stores keep their connections. */
import type { AuxiliaryWorld } from '../auxiliaries/auxiliary.ts'
import { type ReadText, tlsDigest } from '../config/tls-files.ts'
import type { RouteSection, Section } from '../schema/index.ts'
import { AskedStore } from '../vector-stores/asked-store.ts'

export type RetrievalSection = Section['retrieval'][number]

/** One retrieval section with its store. */
export interface Retriever {
  readonly section: RetrievalSection
  readonly store: AskedStore
}

interface KeptStore {
  /** Everything that its connection and its behaviour depend on. */
  readonly identity: string
  readonly store: AskedStore
}

export interface RetrievalWorld extends AuxiliaryWorld {
  readonly readText: ReadText
}

export class Retrievals {
  readonly #world: RetrievalWorld
  #known = new Map<string, KeptStore>()
  #retrievers = new Map<string, Retriever>()

  constructor(world: RetrievalWorld) {
    this.#world = world
  }

  /** Opens the stores of a configuration, and closes removed ones after their last answers. */
  follow(section: Section): void {
    const { http_proxy, no_proxy, tls, vector_stores } = section
    const way = [http_proxy, no_proxy, tls, tlsDigest(tls, this.#world.readText)]
    const known = new Map<string, KeptStore>()
    for (const one of vector_stores) {
      const identity = JSON.stringify([one, way])
      const before = this.#known.get(one.name)
      const isSame = before?.identity === identity
      const store = isSame ? before.store : new AskedStore(one, section, this.#world)
      known.set(one.name, isSame ? before : { identity, store })
    }
    const gone = [...this.#known].filter(([name, one]) => known.get(name) !== one)
    this.#known = known
    this.#retrievers = new Map(
      section.retrieval.flatMap((one) => {
        const store = this.store(storeNameOf(one, vector_stores))
        return store === undefined ? [] : [[one.name, { section: one, store }]]
      }),
    )
    for (const [, { store }] of gone) store.close()
  }

  /** In the order of the route. */
  of({ retrieval }: Pick<RouteSection, 'retrieval'>): readonly Retriever[] {
    return retrieval.flatMap((name) => this.#retrievers.get(name) ?? [])
  }

  store(name: string): AskedStore | undefined {
    return this.#known.get(name)?.store
  }

  /** The first retrieval section that uses a store, for reading its passages. */
  readerOf(store: AskedStore): RetrievalSection | undefined {
    return [...this.#retrievers.values()].find((one) => one.store === store)?.section
  }

  get stores(): readonly AskedStore[] {
    return [...this.#known.values()].map(({ store }) => store)
  }

  close(): void {
    for (const { store } of this.#known.values()) store.close()
  }
}

/** Absent: the store of the same name, else the only one. */
function storeNameOf({ name, store }: RetrievalSection, stores: Section['vector_stores']): string {
  if (store !== undefined) return store
  const isNamed = stores.some((one) => one.name === name)
  return isNamed ? name : (stores[0]?.name ?? '')
}
