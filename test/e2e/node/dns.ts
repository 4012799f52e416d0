/**
 * The cluster's DNS: CoreDNS as a Deployment at the address that the kubelet writes into each pod.
 */
import { TOOLS } from './images.ts'
import { DNS_ADDRESS } from './layout.ts'

const COREFILE = `.:53 {
  errors
  health
  ready
  kubernetes cluster.local in-addr.arpa
  cache 5
}
`
const labels = { 'k8s-app': 'kube-dns' }
const inSystem = (name: string) => ({ name, namespace: 'kube-system', labels })
const RBAC = 'rbac.authorization.k8s.io'

export function dnsObjects(): object[] {
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: inSystem('coredns') },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'ClusterRole',
      metadata: { name: 'coredns' },
      rules: [
        {
          apiGroups: [''],
          resources: ['services', 'pods', 'namespaces'],
          verbs: ['list', 'watch'],
        },
        {
          apiGroups: ['discovery.k8s.io'],
          resources: ['endpointslices'],
          verbs: ['list', 'watch'],
        },
      ],
    },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'coredns' },
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: 'coredns' },
      subjects: [{ kind: 'ServiceAccount', name: 'coredns', namespace: 'kube-system' }],
    },
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: inSystem('coredns'),
      data: { Corefile: COREFILE },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: inSystem('kube-dns'),
      spec: {
        clusterIP: DNS_ADDRESS,
        selector: labels,
        ports: [
          { name: 'dns', port: 53, protocol: 'UDP' },
          { name: 'dns-tcp', port: 53, protocol: 'TCP' },
        ],
      },
    },
    deployment(),
  ]
}

function deployment(): object {
  const container = {
    name: 'coredns',
    image: TOOLS,
    imagePullPolicy: 'Never',
    command: ['/bin/coredns', '-conf', '/etc/coredns/Corefile'],
    // Without a CPU share every look-up would wait for the pods' other work.
    resources: { requests: { cpu: '100m' } },
    volumeMounts: [{ name: 'config', mountPath: '/etc/coredns' }],
    readinessProbe: { httpGet: { path: '/ready', port: 8181 }, periodSeconds: 1 },
  }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: inSystem('coredns'),
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: 'coredns',
          dnsPolicy: 'Default',
          containers: [container],
          volumes: [{ name: 'config', configMap: { name: 'coredns' } }],
        },
      },
    },
  }
}
