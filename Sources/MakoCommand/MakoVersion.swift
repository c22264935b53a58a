/// The version of the package.
package enum MakoVersion {
    /// The version as `mako --version` prints it. A test compares it with CHANGELOG.md and README.md.
    package static let current = "0.2.0"
}
