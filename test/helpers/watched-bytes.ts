/** Bytes that count a reader's accesses: how many it makes between two of its steps. */

interface Watched {
  readonly bytes: Buffer
  /** Single accesses and started searches, since the last call. */
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
