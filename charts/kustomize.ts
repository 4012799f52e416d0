/** The schema for kustomize's merge of gateway lists, because kustomize does not know the cluster's definitions. */
import { isRecord } from '../dataplane/json/values.ts'

type Tree = Readonly<Record<string, unknown>>

/** The part of a definition that describes how its lists are merged. */
export function makeMergeSchema(definition: Tree): Tree {
  const spec = Object(definition.spec)
  const { group, names, versions } = spec
  const [{ name: version, schema }] = versions
  return {
    definitions: {
      [`${group}.${version}.${names.kind}`]: {
        ...mergingOf(schema.openAPIV3Schema),
        'x-kubernetes-group-version-kind': [{ group, version, kind: names.kind }],
      },
    },
  }
}

function mergingOf(node: unknown): Tree | undefined {
  if (!isRecord(node)) return undefined
  const properties = Object.entries(isRecord(node.properties) ? node.properties : {}).flatMap(
    ([name, child]) => {
      const kept = mergingOf(child)
      return kept === undefined ? [] : [[name, kept] as const]
    },
  )
  const keys = node['x-kubernetes-list-map-keys']
  const items = mergingOf(node.items)
  if (Array.isArray(keys)) {
    return {
      type: 'array',
      'x-kubernetes-patch-merge-key': keys[0],
      'x-kubernetes-patch-strategy': 'merge',
      items: items ?? { type: 'object' },
    }
  }
  if (properties.length === 0) return items && { type: 'array', items }
  return { type: 'object', properties: Object.fromEntries(properties) }
}
