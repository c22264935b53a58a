// Names that Mako had before 0.2.0. They work, and the compiler says the name of today, which most editors put in. CHANGELOG.md has the table.

@available(*, deprecated, renamed: "NullReference")
public typealias Nobody = NullReference

extension NullReference {
    @available(*, deprecated, renamed: "null")
    public static var nobody: NullReference { .null }
}

extension ToMany {
    @available(*, deprecated, renamed: "load()")
    public func fetch() throws(MakoError) -> Results<Target> { try load() }

    @available(*, deprecated, renamed: "load()")
    public func fetch() async throws(MakoError) -> Results<Target> { try await load() }

    // The parameter makes it another declaration than the property, which has precedence where neither is called.
    @available(*, deprecated, renamed: "getter:count()")
    @_disfavoredOverload
    public func count(_ none: Void = ()) throws(MakoError) -> Int { try count }
}
