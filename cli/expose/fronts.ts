/** The names of controllers in front of a gateway, in a separate file so that the help loads nothing else. */
export const FRONTS = ['istio', 'envoy-gateway', 'alb', 'gke', 'agc', 'nginx', 'openshift'] as const

export type Front = (typeof FRONTS)[number]
