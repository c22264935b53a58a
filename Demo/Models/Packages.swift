import Mako

/// A section of the archive, such as `libs`.
@Entity final class Section {
    @Attribute(.unique) var name: String = ""
    @Relationship(inverse: \Package.section) var packages: ToMany<Package>
}

/// A package installed on this machine.
@Entity final class Package {
    #Index<Package>([\.installedSize])
    @Attribute(.unique) var name: String = ""
    var version: String = ""
    var priority: String = ""
    var summary: String = ""
    /// In kB.
    var installedSize: Int = 0
    var section: Section?
    @Relationship(inverse: \Dependency.package) var dependencies: ToMany<Dependency>
    @Relationship(inverse: \Dependency.needs) var usedBy: ToMany<Dependency>
}

/// The dependency of one package on another.
@Entity final class Dependency {
    var package: Package?
    var needs: Package?
    /// Such as `>= 2.36`.
    var constraint: String?
}
