/** Bytes that count how often a reader looks at them: how much it does between two of its steps. */

interface Watched {
  readonly bytes: Buffer
  /** Bytes that were looked at one by one and searches that were begun, since the last call. */
  taken(): number
}

export function watchedBytes(from: Buffer): Watched {
  let count = 0
  const watch = (part: Buffer): Buffer =>
    new Proxy(part, {
      get(target, name) {
        if (typeof name === 'string' && name >= '0' && name < ':') count++
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (name === 'indexOf') count++
        if (name === 'subarray')
          return (start: number, end?: number) => watch(target.subarray(start, end))
        return value.bind(target)
      },
    })
  return {
    bytes: watch(from),
    taken() {
      const taken = count
      count = 0
      return taken
    },
  }
}
