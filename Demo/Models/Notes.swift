import Mako

/// A notebook in the first version of a program.
@Entity("Notebook") final class NotebookOfLastYear {
    var title: String = ""
}

/// The same table one version later, with two more properties.
@Entity("Notebook") final class Notebook {
    var title: String = ""
    var pages: Int = 96
    var lentTo: String?
}
