import CPlatform

/// The forks that lie behind this process.
package enum Forks {
    /// A number that the child of a fork does not share with its parent. A plain load.
    @inline(__always)
    package static var generation: UInt32 { mako_process_generation() }
}
