/** The resources of a file, by kind and name. */
import type { Field } from '../field.ts'

export class Resources {
  readonly #all: readonly Field[]

  constructor(all: readonly Field[]) {
    this.#all = all
  }

  of(kind: string): Field[] {
    return this.#all.filter((one) => one.at('kind').text === kind)
  }

  named(kind: string, name: string | undefined): Field | undefined {
    return this.of(kind).find((one) => namedIn(one) === name)
  }

  /** The first policy of the kind whose targets have the name. */
  policyFor(kind: string, name: string): Field | undefined {
    return this.of(kind).find((one) => {
      const spec = one.at('spec')
      const targets = [...spec.at('targetRefs').items, spec.at('targetRef')]
      return targets.some((target) => target.at('name').text === name)
    })
  }
}

export function namedIn(resource: Field): string {
  return resource.at('metadata', 'name').text ?? ''
}
