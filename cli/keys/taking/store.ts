/** Puts keys and limits into a configuration, if it stays valid. */

import type { Problem } from '../../../dataplane/config/judgement/problems.ts'
import { loadConfiguration } from '../../../dataplane/config/load.ts'
import { isRecord, listBelow, valueBelow } from '../../../dataplane/json/values.ts'
import { EditableYaml, textOf } from '../../yaml/editable.ts'
import { namesIn } from '../route-names.ts'
import type { TakenKey } from './litellm.ts'
import type { Limit } from './litellm-limits.ts'

export class KeyFile {
  readonly #document: EditableYaml
  readonly #path: string

  /** Throws a sentence if the file is no configuration. */
  constructor(path: string) {
    this.#path = path
    this.#document = new EditableYaml(path, textOf(path))
    if (!isRecord(valueBelow(this.#document.tree, 'gw')))
      throw new Error(`${path} has no gw: give the configuration that gets the keys.`)
  }

  /** The route of a name that clients send. */
  readonly routeOf = (name: string): string | undefined => {
    const { routes = [], aliases } = namesIn(valueBelow(this.#document.tree, 'gw'))
    if (routes.includes(name)) return name
    return Object.hasOwn(aliases, name) ? aliases[name] : undefined
  }

  get known(): readonly { readonly id: string; readonly hash: string }[] {
    return this.#keys.map((one) => ({
      id: String(valueBelow(one, 'id')),
      hash: String(valueBelow(one, 'hash')),
    }))
  }

  get limits(): ReadonlySet<unknown> {
    return new Set(
      listBelow(this.#document.tree, 'gw', 'limits').map((one) => valueBelow(one, 'name')),
    )
  }

  get #keys(): readonly unknown[] {
    return listBelow(this.#document.tree, 'gw', 'api_keys')
  }

  /** Writes the file, unless a gateway would refuse it; the problems are then returned. */
  store(keys: readonly TakenKey[], limits: readonly Limit[]): readonly Problem[] {
    const before = this.#errors().length
    this.#document.addAll(
      ['gw', 'api_keys'],
      keys.map(({ record }) => record),
    )
    this.#document.addAll(['gw', 'limits'], limits)
    const errors = this.#errors()
    if (errors.length > before) return errors
    this.#document.save()
    return []
  }

  #errors(): Problem[] {
    const host = { env: {}, readText: unread, now: Date.now }
    const { problems } = loadConfiguration(this.#document.text, this.#path, host, 'validate')
    return problems.filter(({ severity }) => severity === 'error')
  }
}

function unread(): never {
  throw new Error('not read here')
}
