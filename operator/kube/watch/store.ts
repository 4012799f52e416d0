/** The last known state of one kind of objects; it notifies listeners when an object changes. */
import { type KubeObject, keyOf } from '../objects.ts'

/** `before` is absent for a new object, `after` for a deleted one. */
export type ChangeListener = (before: KubeObject | undefined, after: KubeObject | undefined) => void

export class ObjectStore {
  readonly #objects = new Map<string, KubeObject>()
  readonly #listeners: ChangeListener[] = []
  readonly #indices: Index[] = []

  get(key: string): KubeObject | undefined {
    return this.#objects.get(key)
  }

  list(): KubeObject[] {
    return [...this.#objects.values()]
  }

  get size(): number {
    return this.#objects.size
  }

  onChange(listener: ChangeListener): void {
    this.#listeners.push(listener)
  }

  /** Indexes objects by a value that they contain; call it before the first object arrives. */
  indexBy(valuesOf: (object: KubeObject) => readonly string[]): Index {
    const index = new Index(valuesOf)
    this.#indices.push(index)
    return index
  }

  put(object: KubeObject): void {
    const key = keyOf(object)
    const before = this.#objects.get(key)
    if (before !== undefined && isSame(before, object)) return
    if (before !== undefined && before.metadata.uid !== object.metadata.uid) this.remove(key)
    const known = this.#objects.get(key)
    this.#objects.set(key, object)
    this.#tell(known, object)
  }

  remove(key: string): void {
    const before = this.#objects.get(key)
    if (before === undefined) return
    this.#objects.delete(key)
    this.#tell(before, undefined)
  }

  /** Replaces everything: missing objects were deleted. Returns the number of changes that a watch missed. */
  replace(objects: readonly KubeObject[]): number {
    let changes = 0
    const names = new Set(objects.map(keyOf))
    for (const key of [...this.#objects.keys()]) {
      if (names.has(key)) continue
      this.remove(key)
      changes++
    }
    for (const object of objects) {
      const before = this.#objects.get(keyOf(object))
      if (before !== undefined && isSame(before, object)) continue
      this.put(object)
      changes++
    }
    return changes
  }

  #tell(before: KubeObject | undefined, after: KubeObject | undefined): void {
    for (const index of this.#indices) index.change(before, after)
    for (const listener of this.#listeners) listener(before, after)
  }
}

export class Index {
  readonly #valuesOf: (object: KubeObject) => readonly string[]
  readonly #byValue = new Map<string, Map<string, KubeObject>>()

  constructor(valuesOf: (object: KubeObject) => readonly string[]) {
    this.#valuesOf = valuesOf
  }

  get(value: string): KubeObject[] {
    return [...(this.#byValue.get(value)?.values() ?? [])]
  }

  change(before: KubeObject | undefined, after: KubeObject | undefined): void {
    if (before !== undefined) {
      for (const value of this.#valuesOf(before)) {
        const members = this.#byValue.get(value)
        members?.delete(keyOf(before))
        if (members?.size === 0) this.#byValue.delete(value)
      }
    }
    if (after === undefined) return
    for (const value of this.#valuesOf(after)) {
      const members = this.#byValue.get(value) ?? new Map<string, KubeObject>()
      members.set(keyOf(after), after)
      this.#byValue.set(value, members)
    }
  }
}

function isSame(one: KubeObject, other: KubeObject): boolean {
  return (
    one.metadata.uid === other.metadata.uid &&
    one.metadata.resourceVersion === other.metadata.resourceVersion
  )
}
