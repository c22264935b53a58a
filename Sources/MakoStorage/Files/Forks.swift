import CPlatform

/// Detects forks of the process.
package enum Forks {
    /// A number that differs between a process and its forked child. A plain load.
    @inline(__always)
    package static var generation: UInt32 { mako_process_generation() }
}
