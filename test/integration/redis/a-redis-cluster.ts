/** Three real Redis servers that are one cluster. */
import { freePort } from '../../helpers/free-port.ts'
import { type RedisServer, startRedis } from '../../helpers/redis-server.ts'
import { until } from '../../helpers/until.ts'

export interface ClusterNode extends RedisServer {
  /** On which the nodes of a cluster talk to each other. */
  readonly busPort: number
}

export interface RedisCluster {
  readonly nodes: readonly ClusterNode[]
  /** With two of the nodes. */
  readonly url: string
  stop(): Promise<unknown>
}

export async function startRedisCluster(): Promise<RedisCluster> {
  const nodes = await Promise.all([startNode(), startNode(), startNode()])
  await join3(nodes)
  const [first, second] = nodes
  return {
    nodes,
    url: `redis+cluster://127.0.0.1:${first.port},127.0.0.1:${second.port}`,
    stop: () => Promise.all(nodes.map((node) => node.stop())),
  }
}

async function startNode(): Promise<ClusterNode> {
  const busPort = await freePort()
  // On a busy machine a node may be silent for a while; none fails here.
  const patient = ['--cluster-node-timeout', '120000']
  const args = ['--cluster-enabled', 'yes', '--cluster-port', String(busPort), ...patient]
  return { ...(await startRedis({ port: 'free', args })), busPort }
}

/** Makes three empty nodes one cluster, with a third of the slots each. */
async function join3(nodes: readonly ClusterNode[]): Promise<void> {
  const [first, ...others] = nodes
  const third = Math.ceil(16_384 / 3)
  for (const [index, node] of nodes.entries()) {
    const last = Math.min(16_383, (index + 1) * third - 1)
    await node.ask('CLUSTER', 'ADDSLOTSRANGE', String(index * third), String(last))
    await node.ask('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1))
  }
  for (const node of others) {
    await first?.ask('CLUSTER', 'MEET', '127.0.0.1', String(node.port), String(node.busPort))
  }
  await until(
    'the cluster is one',
    async () => {
      const states = await Promise.all(nodes.map((node) => node.ask('CLUSTER', 'INFO')))
      return states.every((state) => /cluster_state:ok[\s\S]*cluster_known_nodes:3/.test(state))
    },
    60,
  )
}
