/** Circles in a graph of imports: Tarjan's strongly connected components, of more than one file each. */

/** The imports of each file; type imports count. */
export type Graph = ReadonlyMap<string, readonly string[]>

export function circlesOf(graph: Graph): string[][] {
  const search: Search = { graph, order: new Map(), path: [], circles: [] }
  for (const file of graph.keys()) if (!search.order.has(file)) visit(file, search)
  return search.circles.filter((circle) => circle.length > 1).map((circle) => circle.toSorted())
}

interface Search {
  readonly graph: Graph
  readonly order: Map<string, number>
  readonly path: string[]
  readonly circles: string[][]
}

/** Returns the earliest file of the path that can be reached from this one. */
function visit(file: string, search: Search): number {
  const { graph, order, path, circles } = search
  const own = order.size
  let low = own
  order.set(file, own)
  path.push(file)
  for (const target of graph.get(file) ?? []) {
    const seen = order.get(target)
    if (seen === undefined) low = Math.min(low, visit(target, search))
    else if (path.includes(target)) low = Math.min(low, seen)
  }
  if (low === own) circles.push(path.splice(path.indexOf(file)))
  return low
}
